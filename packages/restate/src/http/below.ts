/** What is at this path of a service, whose own address may have one: that of a proxy before it. */
export function below(base: string, path: string): URL {
  return new URL(base.replace(/\/+$/, '') + (path.startsWith('/') ? path : `/${path}`))
}
