import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { homeFolder } from '@halting/policy/files'

const images = /\.(?:png|jpe?g|gif|webp)$/i

/**
 * The mention of an image whose path was pasted: terminals paste the path of a file that is dropped on them, in quotation marks or with backslashes.
 * Undefined for anything else.
 */
export function droppedImage(pasted: string, cwd: string): string | undefined {
  const line = pasted.trim()
  if (line === '' || line.includes('\n') || line.length > 4_000) return undefined
  const path = unquoted(line)
  if (!images.test(path) || path.includes('"') || /\p{Cc}/u.test(path)) return undefined
  // A name alone may be meant as a word.
  if (!/^(?:~?\/|\.\.?\/|[A-Za-z]:\\)/.test(path)) return undefined
  try {
    const place = path.startsWith('~/') ? join(homeFolder(), path.slice(2)) : resolve(cwd, path)
    if (!statSync(place).isFile()) return undefined
    return /\s/.test(path) ? `@"${path}" ` : `@${path} `
  } catch {
    return undefined
  }
}

function unquoted(line: string): string {
  const url = /^file:\/\/(\/.*)$/.exec(line)?.[1]
  if (url !== undefined) {
    try {
      return decodeURIComponent(url)
    } catch {
      return url
    }
  }
  const quoted = /^(['"])(.*)\1$/.exec(line)?.[2]
  return quoted ?? line.replaceAll(/\\(.)/g, '$1')
}
