/** Tells when a text that comes in pieces has become one whole JSON object. It does not check what is inside. */
export interface ObjectScanner {
  feed(text: string): void
  /** The outermost brace was closed: nothing but white space can follow. */
  isWhole(): boolean
  reset(): void
}

export function createObjectScanner(): ObjectScanner {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let whole = false

  const reset = (): void => {
    depth = 0
    isInString = isEscaped = whole = false
  }
  return {
    feed(text) {
      for (let index = 0; index < text.length && !whole; index++) {
        const sign = text[index]
        if (isEscaped) isEscaped = false
        else if (isInString) {
          if (sign === '\\') isEscaped = true
          else if (sign === '"') isInString = false
        } else if (sign === '"') isInString = true
        else if (sign === '{' || sign === '[') depth++
        else if (sign === '}' || sign === ']') whole = --depth === 0 && sign === '}'
      }
    },
    isWhole: () => whole,
    reset,
  }
}
