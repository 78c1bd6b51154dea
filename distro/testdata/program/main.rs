// What runtimes of Rust do for a program: threads, channels, locks, hashes with random keys, allocation, panics that are caught, and
// arithmetic of floating point.
use std::collections::{BTreeMap, HashMap};
use std::sync::{mpsc, Arc, Mutex};
use std::{panic, thread};

fn main() {
    let sums = Arc::new(Mutex::new(vec![0f64; 8]));
    let workers: Vec<_> = (0..8)
        .map(|i| {
            let sums = Arc::clone(&sums);
            thread::spawn(move || {
                let sum: f64 = (0..2000).map(|n| (n as f64).sqrt() / (i + 1) as f64).sum();
                sums.lock().unwrap()[i] = sum;
            })
        })
        .collect();
    for w in workers {
        w.join().unwrap();
    }
    println!("{:?}", sums.lock().unwrap());

    let (to, numbers) = mpsc::channel();
    thread::spawn(move || (0..3000u32).for_each(|i| to.send(i * 7919 % 1009).unwrap()));
    let mut words = HashMap::new();
    for n in numbers {
        *words.entry("x".repeat(n as usize % 13) + &n.to_string()).or_insert(0) += 1;
    }
    let sorted: BTreeMap<_, _> = words.iter().collect();
    println!("{} {:?}", words.len(), sorted.iter().take(5).collect::<Vec<_>>());

    println!("{:e} {} {:?}", 1e300 / 7.0, (0.1f32 + 0.2) as f64, f64::NAN.max(2f64.sqrt()));
    println!("{} {:x}", i128::MAX / 7, 3u128.pow(80));
    panic::set_hook(Box::new(|_| println!("a panic")));
    let caught = panic::catch_unwind(|| words["none"]).is_err();
    println!("caught: {}", caught);
    println!("end");
}
