// Invalid inputs of tools.

export const notAnObject = 'the input must be an object'
export const missingField = (name: string, expected: string): string => `${name} is missing (${expected})`
/** @param received the value as JSON, shortened */
export const wrongField = (name: string, expected: string, received: string): string =>
  `${name} must be ${expected}, but is ${received}`
export const unknownField = (name: string): string => `there is no field ${name}`

/** @param fields the names of all fields, with ? behind optional ones */
export const invalidInput = (problems: string, toolName: string, fields: string): string =>
  `${problems}. Fields of ${toolName}: ${fields}.`

// What a field must be.

export const expectedKinds = {
  text: 'a string',
  filledText: 'a non-empty string without NUL characters',
  flag: 'true or false',
}
export const expectedNumber = (minimum: number): string => `an integer >= ${minimum}`
export const expectedChoice = (choices: string): string => `one of ${choices}`
/** @param fields each field of an item with what it must be */
export const expectedList = (most: number, fields: string): string => `a list of at most ${most} objects with ${fields}`

/** A string that cannot be stored as Unicode text. */
export const loneSurrogate = (name: string): string =>
  `${name} contains a lone surrogate (half of a Unicode character). Send the whole character.`
