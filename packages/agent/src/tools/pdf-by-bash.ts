/** What a model can do about a PDF that Read does not show. */
export const byBash = 'Read its text in parts with Bash: pdftotext -f 1 -l 10 FILE - gives pages 1 to 10.'
