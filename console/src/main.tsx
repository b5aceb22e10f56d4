import { render } from "preact";
import { Shell } from "./shell";
import "./style.css";

const root = document.getElementById("console");
if (root) render(<Shell />, root);
