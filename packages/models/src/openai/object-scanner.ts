/** Tells when a text that comes in pieces has become one whole JSON object. It does not check what is inside. */
export interface ObjectScanner {
  feed(text: string): void
  /** The outermost brace was closed: nothing but white space can follow. Never so for a text that begins otherwise. */
  isWhole(): boolean
  reset(): void
}

export function createObjectScanner(): ObjectScanner {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let state: 'before' | 'inside' | 'whole' | 'other' = 'before'

  const feed = (text: string): void => {
    for (let index = 0; index < text.length; index++) {
      if (state === 'whole' || state === 'other') return
      const sign = text[index]
      if (isEscaped) isEscaped = false
      else if (isInString) {
        if (sign === '\\') isEscaped = true
        else if (sign === '"') isInString = false
      } else if (state === 'before') {
        if (sign === '{') {
          state = 'inside'
          depth = 1
        } else if (sign?.trim() !== '') state = 'other'
      } else if (sign === '"') isInString = true
      else if (sign === '{' || sign === '[') depth++
      else if (sign === '}' || sign === ']') {
        depth--
        if (depth === 0) state = sign === '}' ? 'whole' : 'other'
      }
    }
  }
  return {
    feed,
    isWhole: () => state === 'whole',
    reset() {
      depth = 0
      isInString = isEscaped = false
      state = 'before'
    },
  }
}
