import type { Program } from '../program.ts'

/** Sent with each request to a cluster. */
export function headersFor(_env: Program['env']): { readonly [name: string]: string } {
  return {}
}
