import { ModelError } from '@halting/core'
import type { ModelReply } from '@halting/core'
import { replyOf } from '../service/assembled-reply.ts'
import { serviceClock } from '../service/retry-time.ts'
import { requestIdOf } from '../service/service-error.ts'
import { callError, partError } from './call-error.ts'
import { PartReader } from './part-reader.ts'
import type { PartReaderOptions } from './part-reader.ts'
import type { PartSource } from './part-source.ts'
import type { ProviderWarnings } from './warnings.ts'

export interface ReadOptions extends PartReaderOptions {
  /** Warnings that were reported earlier. */
  readonly warnings: ProviderWarnings
}

/**
 * Reads the parts of one response to its end.
 * @throws ModelError if nothing was completed (see `replyOf`), or the reason of the run's signal.
 */
export async function readParts(source: PartSource, options: ReadOptions): Promise<ModelReply> {
  const reader = new PartReader(options)
  const failure = await readToEnd(source, reader, options.provider)
  const reply = replyOf(
    reader.finish(),
    () => failure ?? brokenStreamError('it ended before the reply was complete', source),
  )
  const warnings = options.warnings.newIn(reader.warnings, options.provider)
  return warnings.length === 0 ? reply : { ...reply, warnings }
}

/** Reads until the message is complete; returns the error if reading failed. */
async function readToEnd(source: PartSource, reader: PartReader, provider: string): Promise<ModelError | undefined> {
  const { headers } = source
  const clock = serviceClock(headers)
  for (;;) {
    const read = await source.next()
    if (read.kind === 'ended') return undefined
    if (read.kind === 'broken') {
      return callError(read.thrown, { provider, phase: 'streaming', headers, nowMs: clock() })
    }
    const progress = reader.take(read.part)
    switch (progress.kind) {
      case 'more':
        source.onProgress()
        break
      case 'ping':
        break
      case 'end':
        source.finished()
        return undefined
      case 'error':
        return partError(progress.error, { provider, phase: 'streaming', headers, nowMs: clock() })
      case 'unusable':
        return new ModelError({
          kind: 'invalid_request',
          message: progress.why,
          requestId: requestIdOf(headers),
        })
      case 'violation':
        return brokenStreamError(progress.why, source)
    }
  }
}

function brokenStreamError(why: string, { headers }: PartSource): ModelError {
  return new ModelError({
    kind: 'connection',
    message: `The reply stream failed: ${why}.`,
    requestId: requestIdOf(headers),
  })
}
