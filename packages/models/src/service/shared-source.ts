import { messageOf } from '@halting/core/adapters'
import { ModelError } from '@halting/core'
import type { Credential, CredentialSource } from './credential-source.ts'

interface Asking {
  readonly refused: Credential | null
  readonly answer: Promise<Credential>
  readonly controller: AbortController
  waiting: number
}

/**
 * Requests credentials from a source, for many requests at once.
 *
 * S1: requests with the same need share one call. It is aborted when the last of them has left.
 * S2: a request that is aborted, or times out, continues at once, whatever the source does.
 */
export function createSharedSource(
  source: CredentialSource,
  timeoutMs: number,
): (refused: Credential | null, signal: AbortSignal) => Promise<Credential> {
  let askings: readonly Asking[] = []

  const begin = (refused: Credential | null): Asking => {
    const controller = new AbortController()
    const asking: Asking = { refused, answer: callSource(source, refused, controller.signal), controller, waiting: 0 }
    askings = [...askings, asking]
    const forget = (): void => void (askings = askings.filter((other) => other !== asking))
    asking.answer.then(forget, forget)
    return asking
  }
  return async (refused, signal) => {
    signal.throwIfAborted()
    const asking = askings.find((other) => isSameCredential(other.refused, refused)) ?? begin(refused)
    asking.waiting++
    try {
      return await waitUntilAborted(asking.answer, signal, timeoutMs)
    } finally {
      if (--asking.waiting === 0) {
        askings = askings.filter((other) => other !== asking)
        asking.controller.abort()
      }
    }
  }
}

export function isSameCredential(a: Credential | null, b: Credential | null): boolean {
  return a?.apiKey === b?.apiKey && a?.authToken === b?.authToken
}

async function callSource(
  source: CredentialSource,
  refused: Credential | null,
  signal: AbortSignal,
): Promise<Credential> {
  try {
    return await source({ refused, signal })
  } catch (thrown) {
    throw keyError(messageOf(thrown), thrown)
  }
}

export function keyError(why: string, cause?: unknown): ModelError {
  return new ModelError({
    kind: 'authentication_failed',
    message: `Could not get an API key: ${why}`,
    billed: 'nothing',
    cause,
  })
}

function waitUntilAborted<Value>(answer: Promise<Value>, signal: AbortSignal, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    const onAbort = (): void => {
      leave()
      // The caller chose the reason of the abort; it is passed on unchanged.
      reject(signal.reason as Error)
    }
    const onTimeout = (): void => {
      leave()
      reject(keyError(`the command did not return one within ${timeoutMs / 1000} s.`))
    }
    const timer = timeoutMs === Infinity ? undefined : setTimeout(onTimeout, Math.min(timeoutMs, 2_147_483_647))
    signal.addEventListener('abort', onAbort, { once: true })
    answer.finally(leave).then(resolve, reject)
  })
}
