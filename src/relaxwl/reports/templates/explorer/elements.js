// Elements, numbers in words, and the look of classes.
import { meta } from "./data.js";

// No green and no purple: these say what speaks for and against a class.
const COLORS = ["#0072b2", "#d55e00", "#56b4e9", "#e69f00", "#8c564b", "#7f7f7f", "#5c6bc0", "#a69b00"];
export const byId = (id) => document.getElementById(id);
export const wide = () => window.matchMedia("(min-width: 861px)").matches;
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "style") for (const [key, style] of Object.entries(value)) element.style.setProperty(key, style);
    else element.setAttribute(name, value === true ? "" : value);
  }
  // Texts become text nodes: nothing in the data is ever read as markup.
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
export const button = (text, click, attributes) =>
  h("button", { type: "button", class: "tool", on: { click }, ...attributes }, text);

export const whole = (number) => number.toLocaleString("en");
export const short = (number) => (Number.isInteger(number) ? whole(number) : String(Number(number.toPrecision(3))));
export const percent = (share) => {
  const value = 100 * share;
  if (value === 0) return "0 %";
  return Math.abs(value) < 0.1
    ? value > 0
      ? "< 0.1 %"
      : "> −0.1 %"
    : `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`.replace("-", "−");
};
export const signed = (number) => `${number > 0 ? "+" : ""}${number.toPrecision(2)}`.replace("-", "−");
export const withSign = (number, digits) => {
  const rounded = Number(number.toFixed(digits));
  return `${rounded > 0 ? "+" : ""}${rounded.toFixed(digits)}`.replace("-", "−");
};
export const toneOf = (number) => (number > 0 ? "positive" : number < 0 ? "negative" : "");
export const counted = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;
export const className = (k) => `class ${meta.classes[k]}`;
export const color = (k) => ({ "--class": COLORS[k % COLORS.length] });
export const chip = (k, extra) => h("span", { class: "chip", style: color(k) }, className(k) + (extra || ""));
// What a hint asks for: fingers do not hover.
export const touch = () => window.matchMedia("(hover: none)").matches;
