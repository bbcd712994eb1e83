// The section "Owners" on the details page of every object in Headlamp. The component is the one of the tab for Argo CD.

import { registerDetailsViewSection } from "@kinvolk/headlamp-plugin/lib";
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/CommonComponents";
import { useTheme } from "@mui/material";
import React from "react";
import { ownersView } from "../../owners/view.js";

const Owners = ownersView(React);

function Section({ resource }: { resource?: { jsonData?: { metadata?: { managedFields?: unknown[] } } } }) {
  const dark = useTheme().palette.mode === "dark";
  const object = resource?.jsonData;
  if (!object?.metadata?.managedFields) return null;
  return React.createElement(SectionBox, { title: "Owners" }, React.createElement(Owners, { object, dark }));
}

registerDetailsViewSection(Section);
