module memtest

go 1.26.8
