// Calls of tools and their results, as both protocols of OpenAI have them: chat completions and Responses.
import { digestOf, isJsonObject } from '@halting/core/adapters'
import type { BlockOrigin } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** Nine letters and digits, the same for the same seed: the strictest of these services takes no others. */
export function idFromSeed(seed: string): string {
  return digestOf(`call ${seed}`)
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .padEnd(9, '0')
    .slice(0, 9)
}

/** An id of a call that the service takes: another one may have made it. The same for the call and its result. */
export function sentCallId(id: string, longest: number): string {
  return id === '' || id.length > longest ? `call_${idFromSeed(id)}` : id
}

/** The text of arguments as they came. Some services give the object itself in its place. */
export function argumentsText(given: Json | undefined): string {
  return isJsonObject(given) ? JSON.stringify(given) : stringOf(given)
}

/** What an `origin` keeps of the text of arguments: nothing where the input, as it was read, gives the same text again. */
export function storedArguments(text: string, input: JsonObject | undefined): { readonly arguments?: string } {
  return input === undefined || JSON.stringify(input) === text ? {} : { arguments: text }
}

/** The text of arguments as the model wrote it: another one would not be found in the service's cache. */
export function sentArguments(input: unknown, origin: BlockOrigin | undefined): string {
  return typeof origin?.arguments === 'string' ? origin.arguments : JSON.stringify(input ?? {})
}

/** The text of a result. Neither protocol has another place to say that a call failed. */
export function sentResult(text: string, isError: boolean | undefined): string {
  return isError === true && !/^error/i.test(text) ? `Error: ${text}` : text
}
