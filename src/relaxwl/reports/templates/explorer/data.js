// The data of the page, from the element #data.

export const data = JSON.parse(document.getElementById("data").textContent);
export const { meta, clusters: C, trees, labels, edges, maps, graphs, names, levels } = data;

// How a graph is called on the page.
export const called = (id) => (names[id] ? `${names[id]} (graph ${id})` : `graph ${id}`);
export const Called = (id) => called(id).replace(/^graph/, "Graph");
export const [KEPT, RELABELED, DELETED, INSERTED] = [0, 1, 2, 3];
export const N = C.depth.length;
