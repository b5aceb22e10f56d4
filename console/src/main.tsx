import { render } from "preact";
import { takeLink } from "./link_with_key";
import { Shell } from "./shell";
import "./style.css";

void takeLink();
addEventListener("hashchange", () => void takeLink());

const root = document.getElementById("console");
if (root) render(<Shell />, root);
