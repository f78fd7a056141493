import { createHash } from 'node:crypto'
import { escapeHtml } from './escape-html.ts'

/** The head of a self-contained HTML page. Its policy allows no script, only its own style (by hash), and no network requests. */
export function pageHead(title: string, style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
`
}
