//! Plots as pictures.

use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Options, Tree, roxmltree};
use smbench_publish::plot::{
    Axis, Doubt, Line, Plot, PlotPoint, PlotWidth, PointValidity, Quantity, Rasterizer,
};

/// Returns a plot with a line whose markers are circles over round numbers.
pub(super) fn simple() -> Plot {
    let valid = |x: f64, y: f64, validity| PlotPoint {
        x,
        y,
        spread: None,
        validity,
        doubt: Doubt::None,
        label: String::new(),
    };
    Plot {
        name: "simple".to_owned(),
        title: "Simple".to_owned(),
        x: Axis::new("clients", Quantity::Clients),
        y: Axis::new("throughput", Quantity::Throughput),
        lines: vec![Line {
            name: "a".to_owned(),
            style: 0,
            points: vec![
                valid(0.0, 0.0, PointValidity::Valid),
                valid(5.0, 50.0, PointValidity::Invalid),
                valid(10.0, 100.0, PointValidity::Valid),
            ],
        }],
        notes: Vec::new(),
        marks: Vec::new(),
    }
}

#[test]
fn points_lie_where_the_axes_say() {
    let svg = simple().to_svg().unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).unwrap().parse().unwrap()
    };
    let circles = || {
        tree.descendants()
            .filter(|node| node.has_tag_name("circle"))
    };
    let is_spot = |node: &roxmltree::Node<'_, '_>| node.attribute("class") == Some("point");
    let place = |node: roxmltree::Node<'_, '_>| (number(&node, "cx"), number(&node, "cy"));
    let spots: Vec<_> = circles().filter(is_spot).map(place).collect();
    let [start, middle, end] = spots[..] else {
        panic!("{spots:?}");
    };
    for (one, other) in [(start, middle), (middle, end)] {
        assert!(
            (other.0 - one.0 - (end.0 - start.0) / 2.0).abs() <= 1.0,
            "{spots:?}"
        );
        assert!(
            (other.1 - one.1 - (end.1 - start.1) / 2.0).abs() <= 1.0,
            "{spots:?}"
        );
    }
    assert!(end.0 > start.0 && end.1 < start.1, "to the right and up");
    // Each has the visible marker below it.
    for spot in &spots {
        let seen = |node: &roxmltree::Node<'_, '_>| !is_spot(node) && place(*node) == *spot;
        assert!(circles().any(|node| seen(&node)), "{spot:?}");
    }
    // The labels at the axes are where points of that value are.
    let text = |content: &str| {
        let mut texts = tree.descendants().filter(|node| node.has_tag_name("text"));
        texts.find(|node| node.text().is_some_and(|text| text.trim() == content))
    };
    let hundred = text("100").unwrap();
    assert!(
        (number(&hundred, "y") - end.1).abs() <= 8.0,
        "within a pixel"
    );
    let ten = text("10").unwrap();
    assert!((number(&ten, "x") - end.0).abs() <= 8.0, "within a pixel");
    // The line leaves out invalid points.
    let lines = tree
        .descendants()
        .filter(|node| node.has_tag_name("polyline"));
    let drawn = lines.filter_map(|node| node.attribute("points"));
    let whole = format!("{},{} {},{}", start.0, start.1, end.0, end.1);
    assert!(
        drawn.into_iter().any(|points| points.trim() == whole),
        "{svg}"
    );
}

#[test]
fn plots_in_pages_have_no_colour_of_their_own() {
    let svg = simple().to_inline_svg(PlotWidth::Page).unwrap();
    assert!(!svg.contains("\"#"), "{svg}");
    for variable in ["--ink", "--axis", "--grid", "--paper", "--line-0"] {
        assert!(svg.contains(&format!("\"var({variable})\"")), "{variable}");
    }
}

/// A page may have a plot in both widths, so only one of the two is the plot of that name.
#[test]
fn a_plot_of_the_width_of_a_page_is_wider_and_no_larger() {
    let box_of = |width| {
        let svg = simple().to_inline_svg(width).unwrap();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let root = tree.root_element();
        let numbers = root.attribute("viewBox").unwrap().split(' ');
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        let size = tree.descendants().find(|node| node.has_tag_name("text"));
        let size = size.unwrap().attribute("font-size").unwrap().to_owned();
        let name = root.attribute("data-plot").map(str::to_owned);
        (numbers[2], numbers[2] / numbers[3], size, name)
    };
    let (column, page) = (box_of(PlotWidth::Column), box_of(PlotWidth::Page));
    assert_eq!(page.0, 2.0 * column.0);
    assert!(page.1 > 2.0 && column.1 < 1.5, "flat: {page:?}, {column:?}");
    assert_eq!(page.2, column.2, "the same size of letters");
    assert_eq!((column.3.as_deref(), page.3), (Some("simple"), None));
}

#[test]
fn pictures_have_lines_and_letters() {
    let png = Rasterizer::new().png(&simple()).unwrap();
    let picture = Pixmap::decode_png(&png).unwrap();
    let tree = Tree::from_str(&simple().to_svg().unwrap(), &Options::default()).unwrap();
    assert_eq!(picture.width(), 2 * tree.size().to_int_size().width());
    let count = |colour: (u8, u8, u8)| {
        let pixels = picture.pixels().iter();
        let same = pixels.filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == colour);
        same.count()
    };
    // Lines are four pixels wide here; the inside of letters has one colour.
    assert!(count((0x00, 0x72, 0xB2)) > 1000, "the line");
    assert!(count((0x1B, 0x1F, 0x24)) > 1000, "titles");
    assert!(count((0x57, 0x60, 0x6A)) > 500, "numbers and axes");
}
