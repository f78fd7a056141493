import {
  type AgentContext,
  type FileSystemCapabilities,
  methods,
  type ReadTextFileResponse,
} from '@agentclientprotocol/sdk'
import type { EditorFiles } from '@halting/agent'

/** Files through the client, as far as it offers that (spec R-ACP-12). What it refuses, such as a file outside of its project, is left to the disk. */
export function clientFiles(
  client: AgentContext,
  sessionId: () => string,
  { readTextFile, writeTextFile }: FileSystemCapabilities,
): EditorFiles | undefined {
  if (readTextFile !== true && writeTextFile !== true) return undefined
  return {
    ...(readTextFile === true && {
      async read(path: string, signal: AbortSignal) {
        try {
          const asked = { sessionId: sessionId(), path }
          const read: ReadTextFileResponse = await client.request(
            methods.client.fs.readTextFile,
            asked,
            waiting(signal),
          )
          // Clients may answer with anything.
          return typeof read.content === 'string' ? read.content : undefined
        } catch (thrown) {
          if (signal.aborted) throw thrown
          return undefined
        }
      },
    }),
    ...(writeTextFile === true && {
      async write(path: string, text: string, signal: AbortSignal) {
        try {
          const asked = { sessionId: sessionId(), path, content: text }
          await client.request(methods.client.fs.writeTextFile, asked, waiting(signal))
          return true
        } catch (thrown) {
          if (signal.aborted) throw thrown
          return false
        }
      },
    }),
  }
}

function waiting(signal: AbortSignal): {
  readonly cancellationSignal: AbortSignal
  readonly stopWaitingOnCancel: true
} {
  return { cancellationSignal: signal, stopWaitingOnCancel: true }
}
