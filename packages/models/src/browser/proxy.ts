// Replaces `http/proxy.ts` on hosts without Node, where the host routes requests.

/** Returns undefined: the package knows of no proxy. */
export function proxyFor(): undefined {
  return undefined
}

/** Whether the host is this machine, as `URL` writes its names. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname) ||
    ['[::1]', '[::]', '0.0.0.0'].includes(hostname)
  )
}
