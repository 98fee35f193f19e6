// Addresses after the hash: #/tree/<uuid>, #/cloud?class=VCPU.

export interface Address {
  view: string;
  id: string;
  // Everything after "?", undecoded: the shape view keeps a candidates query there.
  query: string;
}

export function parseAddress(hash: string): Address {
  const [path = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...id] = path.split("/");
  return { view: view || "cloud", id: decodeURIComponent(id.join("/")), query: rest.join("?") };
}

export function addressOf(view: string, id = "", query = ""): string {
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${query ? `?${query}` : ""}`;
}
