"""A room for each topic: its numbers, tables, pictures, slide, section of the report and declaration."""
