// Tool calls and results in the format of both OpenAI protocols: chat completions and Responses.
import { digestOf, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** Creates an id of nine letters and digits from a seed: the strictest of these services accepts no others. */
export function idFromSeed(seed: string): string {
  return digestOf(`call ${seed}`)
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .padEnd(9, '0')
    .slice(0, 9)
}

/**
 * Returns a call id that the service accepts, even if another service created it. The same for the call and its result.
 */
export function sentCallId(id: string, longest: number): string {
  return id === '' || id.length > longest ? `call_${idFromSeed(id)}` : id
}

/** Returns the text of arguments. Some services send an object instead. */
export function argumentsText(given: Json | undefined): string {
  return isJsonObject(given) ? JSON.stringify(given) : stringOf(given)
}

/** Returns the text of arguments to store in an `origin`; empty if the parsed input serializes to the same text. */
export function storedArguments(text: string, input: JsonObject | undefined): { readonly arguments?: string } {
  return input === undefined || JSON.stringify(input) === text ? {} : { arguments: text }
}

/** Returns the text of arguments as the model wrote it: any other text would miss the service's cache. */
export function sentArguments(input: unknown, origin: BlockOrigin | undefined): string {
  return typeof origin?.arguments === 'string' ? origin.arguments : JSON.stringify(input ?? {})
}

/** Returns the text of a result. Neither protocol has another field for a failed call. */
export function sentResult(text: string, isError: boolean | undefined): string {
  return isError === true && !/^error/i.test(text) ? `Error: ${text}` : text
}
