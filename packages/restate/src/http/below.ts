/** An address without slashes at its end: people leave them out, and the engine adds one. */
export function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '')
}

/** What is at this path of a service, whose own address may have one: that of a proxy before it. */
export function below(base: string, path: string): URL {
  return new URL(withoutSlash(base) + (path.startsWith('/') ? path : `/${path}`))
}
