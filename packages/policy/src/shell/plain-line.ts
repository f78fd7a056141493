import type { SimpleCommand } from './analysis.ts'

const word = String.raw`(?:[\w./:=@%+,~^{}*?\[\]#-]|'[^'\n]*'|"[^"$\\\x60\n]*")+`
const redirect = String.raw`(?:2>&1|[12]?>>? ?${word}|< ?${word})`
const command = String.raw`${word}(?: +(?:${word}|${redirect}))*`
const line = new RegExp(String.raw`^ *${command}(?: *(?:&&|\|\||;|\|) *${command})* *;? *$`)
const longest = 2_000

/**
 * Whether there is one way to read a line: words without anything that the shell expands twice, whole quotes that hold no
 * `$`, backtick or backslash, `&&`, `||`, `;`, `|` and redirects to such words. Takes time in proportion to the line.
 */
export function isPlainLine(text: string): boolean {
  return text.length <= longest && line.test(text)
}

/** Checked by hand: whatever words follow that their grammars allow, they write nothing and run nothing. */
const harmless: ReadonlySet<string> = new Set(
  'head tail wc grep sort uniq cut tr echo printf cd true false pwd ls cat basename dirname sleep'.split(' '),
)

/** Whether a command may run unconfined in a plain line of which another part runs by a rule. */
export function isHarmlessBesideRules({ words }: SimpleCommand): boolean {
  return words.length === 0 || harmless.has(words[0]?.value ?? '')
}
