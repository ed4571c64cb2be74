"""Flamegraphs of a profile: an interactive page, and an SVG of one moment.

Interactive flamegraphs, of these pages and of the report, have one implementation: assets/flamegraph.js. It turns a
tree of call stacks into frames; d3-flame-graph draws, searches and zooms them. The library is kept up, small (13 kB),
and leaves colours, labels and what stands beside the pointer to its caller. What is ours is what it has not:
differences, inversion, keys, links. A page hands over its tree (`page_data.name_frame` says what a frame is) and says
in callbacks what a frame is called, which colour it has, and what there is to say of it.

An SVG is a picture without scripts, for documents: inferno draws it, from the same tree."""
