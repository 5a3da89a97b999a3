use super::*;

#[test]
fn print() {
    for defs in [Some(own()), upstream()].into_iter().flatten() {
        let g = graph(INSTANCE, &defs);
        for e in &g.edges {
            println!(
                "{} -> {}  {} | {} | {} | {:?} {:?} {}",
                short(&g, e.from),
                short(&g, e.to),
                e.field,
                e.expression,
                e.reads,
                e.step,
                e.production,
                e.implied
            );
        }
        println!("{:?}", g.order.iter().map(|i| short(&g, *i)).collect::<Vec<_>>());
        println!("{:#?}", g.delete_waves.iter().map(|w| w.iter().map(|i| short(&g, *i)).collect::<Vec<_>>()).collect::<Vec<_>>());
        let mut c = super::cloud::Cloud::new(&g);
        let t = std::time::Instant::now();
        let e = c.evaluate();
        println!("TIME {:?}", t.elapsed());
        for (i, n) in e.nodes.iter().enumerate() {
            println!("{} {:?} {:?} {:?}", g.nodes[i].address, n.included, n.gate_open, n.gate_waits_for);
            for (p, u) in n.desired.unknowns() {
                println!("     {p}: {} waits for {}", u.expression, u.waits_for);
            }
        }
        println!("{:?}", c.settle(crate::graph::catalog::Production::Created));
        let t = std::time::Instant::now();
        let e = c.evaluate();
        println!("TIME {:?}", t.elapsed());
        for (i, n) in e.nodes.iter().enumerate() {
            println!("{} {:?} {:?} {:?}", g.nodes[i].address, n.included, n.gate_open, n.gate_waits_for);
        }
        println!("{:?}", c.settle(crate::graph::catalog::Production::Ready));
        let t = std::time::Instant::now();
        let e = c.evaluate();
        println!("TIME {:?}", t.elapsed());
        println!("{:#}", e.nodes[0].status.as_ref().unwrap());
        println!("{:#}", e.nodes[1].status.as_ref().unwrap());
        for (i, n) in e.nodes.iter().enumerate() {
            println!("{} {:?} {:?} {:?}", g.nodes[i].address, n.included, n.gate_open, n.gate_waits_for);
        }
    }
}
