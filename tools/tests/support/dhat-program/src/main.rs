// What the crate dhat records of a program: its heap, or with an argument events of the program's own.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[inline(never)]
fn small(at: usize) -> Vec<u8> {
    vec![1; 33 + at % 7]
}

#[inline(never)]
fn large(at: usize) -> Vec<u8> {
    vec![1; 5000 + at]
}

fn main() {
    if std::env::args().nth(1).is_some() {
        let _profiler = dhat::Profiler::new_ad_hoc();
        for weight in 1..100 {
            dhat::ad_hoc_event(weight);
        }
        return;
    }
    let _profiler = dhat::Profiler::new_heap();
    let mut kept = Vec::new();
    for at in 0..1000 {
        kept.push(small(at));
        kept.push(large(at));
        drop(vec![1u8; 777]);
    }
    kept.truncate(1500);
    std::mem::forget(kept);
}
