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
  return { view: view || "cloud", id: decoded(id.join("/")), query: rest.join("?") };
}

// An address that somebody typed or cut off may have an invalid escape, such as %zz.
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

// The query with one parameter set, or removed if its value is empty.
export function changed(parameters: URLSearchParams, key: string, value: string): string {
  const others = new URLSearchParams(parameters);
  if (value === "") others.delete(key);
  else others.set(key, value);
  return others.toString();
}

export function addressOf(view: string, id = "", query = ""): string {
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${query ? `?${query}` : ""}`;
}

// A view with its query, of which one parameter is set.
export function addressWith(view: string, parameters: URLSearchParams, key: string, value: string): string {
  return addressOf(view, "", changed(parameters, key, value));
}
