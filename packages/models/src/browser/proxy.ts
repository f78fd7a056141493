// In the place of `http/proxy.ts`, where there is no Node: the host decides how requests go out.

/** None that this package knows of. */
export function proxyFor(): undefined {
  return undefined
}

/** True for this machine by its own names, as `URL` writes them. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname) ||
    ['[::1]', '[::]', '0.0.0.0'].includes(hostname)
  )
}
