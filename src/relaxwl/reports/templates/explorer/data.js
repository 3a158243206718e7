// The data of the page, from the element #data.

export const data = JSON.parse(document.getElementById("data").textContent);
export const { meta, clusters: C, trees, labels, edges, maps, graphs, levels } = data;
export const [KEPT, RELABELLED, DELETED, INSERTED] = [0, 1, 2, 3];
export const N = C.depth.length;
