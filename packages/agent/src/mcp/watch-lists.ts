import type { Client } from '@modelcontextprotocol/client'
import type { McpLimits } from './limits.ts'

/**
 * Listens for changed lists. In the revisions before 2026-07-28 servers send them unasked; from then on they have to be asked for. A
 * subscription that ends is made again, each later than the one before. Never rejects.
 */
export async function watchLists(
  client: Client,
  { connectMs, reconnectMs, stableMs }: McpLimits,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {}
  const filter = {
    ...(tools?.listChanged === true && { toolsListChanged: true }),
    ...(prompts?.listChanged === true && { promptsListChanged: true }),
    ...(resources?.listChanged === true && { resourcesListChanged: true }),
  }
  if (client.getProtocolEra() !== 'modern' || Object.keys(filter).length === 0) return
  for (let tries = 0; !signal.aborted; tries++) {
    const begun = performance.now()
    try {
      const subscription = await client.listen(filter, { timeout: connectMs, signal })
      // What changed in between was not told.
      if (tries > 0) onChange()
      await subscription.closed
    } catch {
      // It is tried again, like one that ended.
    }
    if (performance.now() - begun > stableMs) tries = 0
    const delay = reconnectMs[tries]
    if (delay === undefined) return
    await pause(delay, signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    // Does not keep the process running: nobody waits for what comes of it.
    const timer = setTimeout(done, ms).unref()
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
