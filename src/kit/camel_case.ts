/** Writes `no_reply` as NoReply. */
export function inCamelCase(name: string): string {
  return name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
}
