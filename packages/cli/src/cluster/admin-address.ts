import type { Flags } from '../flags/flags.ts'

const usualPort = '9070'

/** Where a cluster is administered: beside where it takes requests, unless said otherwise. */
export function adminOf({ admin, restate, cluster }: Pick<Flags, 'admin' | 'restate' | 'cluster'>): string {
  if (admin !== undefined) return admin
  const url = new URL(restate ?? cluster ?? 'http://127.0.0.1')
  url.port = usualPort
  return url.origin
}
