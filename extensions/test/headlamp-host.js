// A page that hosts plugins as Headlamp does, with Headlamp's own section, themes and React; `scripts/headlamp` bundles it.

import React from "react";
import { createRoot } from "react-dom/client";
import CssBaseline from "@mui/material/CssBaseline";
import { ThemeProvider, useTheme } from "@mui/material/styles";
import { darkTheme, lightTheme } from "@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes";
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/components/common/SectionBox";
import { createMuiTheme } from "@kinvolk/headlamp-plugin/lib/lib/themes";

const theme = () => createMuiTheme(document.body.className === "theme-dark" ? darkTheme : lightTheme);
let container;

window.React = React;
window.host = {
  pluginLib: { React, MuiMaterial: { useTheme }, CommonComponents: { SectionBox } },
  render(element, root) {
    container ??= createRoot(root);
    container.render(React.createElement(ThemeProvider, { theme: theme() }, React.createElement(CssBaseline), element));
  },
};
