import { RequestError } from '@agentclientprotocol/sdk'
import { messageOf } from '@halting/core/adapters'
import { isMissingKey, type MissingKeyError } from '../flags/missing-key.ts'
import { printable } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

const invalidParamsCode = -32602
export const internalError = -32603
export const authenticationRequired = -32000

/** An error for a request that is invalid; the message says what to do. */
export function invalidParamsError(message: string): RequestError {
  return new RequestError(invalidParamsCode, printable(message))
}

/** The error that a client receives for a thrown value. */
export function requestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown
  if (isMissingKey(thrown)) return missingKeyError(thrown)
  const isUsage =
    thrown instanceof UsageError || (thrown instanceof Error && 'code' in thrown && thrown.code === 'configuration')
  return new RequestError(isUsage ? invalidParamsCode : internalError, printable(messageOf(thrown)))
}

export function missingKeyError({ message, keyVariables }: MissingKeyError): RequestError {
  return new RequestError(authenticationRequired, printable(message), { keyVariables, command: 'halting setup' })
}
