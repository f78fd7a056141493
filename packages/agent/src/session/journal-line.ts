import { digestOf } from '@halting/core/adapters'

/** A line that is not what was written: its number, and what is wrong. */
class DamagedLineError extends Error {
  override readonly name = 'DamagedLineError'
}

const sumField = ',"sum":"'

/** One line of a journal: JSON, with a checksum of the rest as its last field. */
export function lineOf(value: { readonly [field: string]: unknown }): string {
  return lineOfJson(JSON.stringify(value))
}

/** The same for the JSON of an object. */
export function lineOfJson(json: string): string {
  const text = json.slice(0, -1)
  return `${text}${sumField}${digestOf(text)}"}\n`
}

/** The value of a line. @throws DamagedLineError for a line that is not as it was written. */
export function valueOf(line: string): { readonly [field: string]: unknown } {
  const end = line.lastIndexOf(sumField)
  if (end < 0 || line.slice(end + sumField.length) !== `${digestOf(line.slice(0, end))}"}`)
    throw new DamagedLineError('its checksum is not that of its content')
  // The checksum says that this is what was written: JSON of an object.
  return JSON.parse(line) as { readonly [field: string]: unknown }
}
