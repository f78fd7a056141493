import type { Flags } from '../flags/flags.ts'

const defaultPort = '9070'

/** The admin address of a cluster. Default: port 9070 on the host that accepts requests. */
export function adminAddress({ admin, restate, cluster }: Pick<Flags, 'admin' | 'restate' | 'cluster'>): string {
  if (admin !== undefined) return admin
  const url = new URL(restate ?? cluster ?? 'http://127.0.0.1')
  url.port = defaultPort
  return url.origin
}
