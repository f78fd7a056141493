import { RequestError } from '@agentclientprotocol/sdk'
import { messageOf } from '@halting/core/adapters'
import { printable } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

const invalidParams = -32602
export const internalError = -32603
export const authenticationRequired = -32000

/** What was asked for cannot be had so: the message says what to do. */
export function invalid(message: string): RequestError {
  return new RequestError(invalidParams, printable(message))
}

/** What went wrong, as a client is told. */
export function requestError(thrown: unknown): RequestError {
  if (thrown instanceof RequestError) return thrown
  if (isWithoutKey(thrown)) return new RequestError(authenticationRequired, printable(thrown.message))
  const isUsage =
    thrown instanceof UsageError || (thrown instanceof Error && 'code' in thrown && thrown.code === 'configuration')
  return new RequestError(isUsage ? invalidParams : internalError, printable(messageOf(thrown)))
}

/** A model cannot be made for want of a key: the error names the variables that it is looked for in. */
function isWithoutKey(thrown: unknown): thrown is Error {
  return thrown instanceof Error && 'keyVariables' in thrown
}
