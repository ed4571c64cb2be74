"""What changed from one set of runs to another: figures by place, differences beyond noise, the call sites of them."""
