module memtest

go 1.26.11
