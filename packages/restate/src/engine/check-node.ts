import { ConfigurationError } from '@halting/core'

/** @throws ConfigurationError on a Node on which the engine's SDK would hang without a word. */
export function checkNode(): void {
  if ('withResolvers' in Promise) return
  throw new ConfigurationError(
    `A worker of a cluster needs Node 22 or newer, and this is Node ${process.versions.node}. What only asks a cluster runs here.`,
  )
}
