import type { Flags } from '../flags/flags.ts'

const defaultPort = '9070'

/** Where a cluster is administered: beside where it takes requests, unless said otherwise. */
export function adminAddress({ admin, restate, cluster }: Pick<Flags, 'admin' | 'restate' | 'cluster'>): string {
  if (admin !== undefined) return admin
  const url = new URL(restate ?? cluster ?? 'http://127.0.0.1')
  url.port = defaultPort
  return url.origin
}
