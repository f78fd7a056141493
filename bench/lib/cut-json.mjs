// Reads JSON whose end is cut off: the complete part of its value, and where the cut was.

/**
 * @typedef {object} Cut
 * @property {readonly object[]} open The objects and lists that were open at the end of the text, the outermost first.
 * @property {string | number | undefined} string The field or index of the string that was cut, in the innermost of these.
 */

/**
 * The value of a JSON text that may end anywhere. A string that is cut counts up to the cut; a name, number or word that is cut is left out. `cut` is undefined if the text is
 * complete.
 * @param {string} text
 * @returns {{ value: unknown, cut: Cut | undefined }}
 */
export function parseCutJson(text) {
  try {
    return { value: JSON.parse(text), cut: undefined }
  } catch {
    return new CutReader(text).read()
  }
}

const nothing = Symbol('nothing')

class CutReader {
  #at = 0
  /** @type {object[]} */
  #open = []
  #isStringCut = false
  /** @type {string | number | undefined} */
  #place

  /** @param {string} text */
  constructor(text) {
    this.text = text
  }

  read() {
    const value = this.#value()
    return { value: value === nothing ? undefined : value, cut: { open: this.#open, string: this.#isStringCut ? this.#place : undefined } }
  }

  get #isOver() {
    return this.#at >= this.text.length
  }

  #space() {
    while (/\s/.test(this.text[this.#at] ?? '')) this.#at++
  }

  #value() {
    this.#space()
    if (this.#isOver) return nothing
    const first = this.text[this.#at]
    if (first === '{') return this.#object()
    if (first === '[') return this.#list()
    if (first === '"') return this.#text()
    return this.#word()
  }

  #object() {
    /** @type {Record<string, unknown>} */
    const object = {}
    this.#at++
    this.#open.push(object)
    while (true) {
      this.#space()
      if (this.#isOver) return object
      if (this.text[this.#at] === '}') return this.#close(object)
      if (this.text[this.#at] === ',') {
        this.#at++
        continue
      }
      const { value: name, isWhole } = this.#string()
      this.#space()
      if (!isWhole || this.#isOver) return object
      // The colon.
      this.#at++
      this.#place = name
      const value = this.#value()
      if (value === nothing) return object
      object[name] = value
    }
  }

  #list() {
    /** @type {unknown[]} */
    const list = []
    this.#at++
    this.#open.push(list)
    while (true) {
      this.#space()
      if (this.#isOver) return list
      if (this.text[this.#at] === ']') return this.#close(list)
      if (this.text[this.#at] === ',') {
        this.#at++
        continue
      }
      this.#place = list.length
      const value = this.#value()
      if (value === nothing) return list
      list.push(value)
    }
  }

  #close(container) {
    this.#at++
    this.#open.pop()
    return container
  }

  #text() {
    const { value, isWhole } = this.#string()
    if (!isWhole) this.#isStringCut = true
    return value
  }

  #string() {
    const begin = this.#at++
    while (!this.#isOver && this.text[this.#at] !== '"') this.#at += this.text[this.#at] === '\\' ? 2 : 1
    if (!this.#isOver) {
      this.#at++
      return { value: JSON.parse(this.text.slice(begin, this.#at)), isWhole: true }
    }
    // An escape that is cut is not a character.
    const cut = this.text.slice(begin).replace(/((?:^|[^\\])(?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, '$1')
    return { value: JSON.parse(`${cut}"`), isWhole: false }
  }

  #word() {
    const word = /^[^\s,\]}]+/.exec(this.text.slice(this.#at))?.[0] ?? ''
    this.#at += Math.max(1, word.length)
    if (this.#isOver) return nothing
    return JSON.parse(word)
  }
}

/**
 * A possible complete input of a call: a string that is cut is continued, and each required field after the cut has a value.
 * @param {unknown} input
 * @param {Cut | undefined} cut
 * @param {any} schema
 */
export function completedInput(input, cut, schema) {
  return cut === undefined || schema === undefined ? input : completed(input, schema, cut)
}

function completed(value, schema, cut) {
  if (!cut.open.includes(value)) return value
  const isInnermost = cut.open.at(-1) === value
  const fieldOf = (name) => (Array.isArray(value) ? schema.items : schema.properties?.[name]) ?? {}
  const fields = Object.entries(value).map(([name, field]) => {
    const isCut = isInnermost && cut.string !== undefined && String(cut.string) === name
    return [name, isCut ? stringThatGoesOn(field, fieldOf(name)) : completed(field, fieldOf(name), cut)]
  })
  if (Array.isArray(value)) return fields.map(([, field]) => field)
  const result = Object.fromEntries(fields)
  for (const name of schema.required ?? []) result[name] ??= sampleOf(fieldOf(name), name)
  return result
}

/** A choice that begins with this text, if there are choices. */
function stringThatGoesOn(text, { enum: choices }) {
  return choices === undefined ? `${text}…` : (choices.find((choice) => choice.startsWith(text)) ?? text)
}

function sampleOf(schema, name = 'value') {
  if (schema.enum !== undefined) return schema.enum[0]
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'array':
      return [sampleOf(schema.items ?? {})]
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {}, name)]))
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    default:
      return `(${name} is not on record)`
  }
}
