module memtest

go 1.27.4
