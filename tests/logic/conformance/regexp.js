//: flags
const r = /a/dgimsuy; out(r.flags, r.global, r.sticky, r.unicode, r.source, String(r), /a/v.unicodeSets)
//: groups and names
const m = /(?<y>\d{4})-(?<m>\d\d)(-x)?/.exec('on 2024-05'); out(m[0], m.index, m.groups, m[3] === undefined, m.length)
//: replacing by names
out('2024-05'.replace(/(?<y>\d+)-(?<m>\d+)/, '$<m>/$<y>'), 'ab'.replace(/(a)(b)/, '$2$1$$$&'), 'ab'.replace(/(?<q>a)/, (...all) => JSON.stringify(all.at(-1))))
//: lastIndex with g and y
const g = /a/g; out(g.test('aa'), g.lastIndex, g.test('aa'), g.lastIndex, g.test('aa'), g.lastIndex); const y = /a/y; out(y.test('ba'), (y.lastIndex = 1, y.test('ba')))
//: lookahead and lookbehind
out('price: $42'.match(/(?<=\$)\d+/)[0], 'foobar'.match(/foo(?=bar)/)[0], 'foobaz'.match(/foo(?!bar)/)[0], 'xb'.match(/(?<!a)b/)[0])
//: greedy and lazy
out('<a><b>'.match(/<.+>/)[0], '<a><b>'.match(/<.+?>/)[0], 'aaa'.match(/a{2}/)[0], 'aaa'.match(/a{1,2}?/)[0])
//: backreferences
out(/(.)\1/.exec('abba')[0], /(?<c>.)\k<c>/.test('xx'), /\1(a)/.exec('a')[0])
//: character classes
out('a_1-é\n'.replace(/\w/g, 'W'), 'a 1'.replace(/[^\d\s]/g, 'X'), /^[\w.-]+$/.test('a.b-c'), /\bfoo\b/.test('a foo b'), /[\b]/.test('\b'))
//: unicode
out(/^.$/.test('\u{1F600}'), /^.$/u.test('\u{1F600}'), /\p{Lu}/u.test('É'), /\p{Script=Greek}/u.test('α'), '\u{1F600}'.match(/./gu).length, /\u{61}/u.test('a'))
//: case-insensitive
out(/straße/i.test('STRAßE'), /[a-z]/i.test('K'), /\u212a/iu.test('k'), /É/i.test('é'))
//: multiline and dotAll
out('a\nb'.match(/^b$/m)[0], /a.b/.test('a\nb'), /a.b/s.test('a\nb'), 'a\r\nb'.split(/$/m).length)
//: indices
const m = /a(?<n>b)?/d.exec('xab'); out(m.indices[0], m.indices.groups.n)
//: empty matches go on
out('abc'.replace(/x*/g, '-'), 'abc'.split(/x*/), [...'ab'.matchAll(/(?:)/g)].map((m) => m.index))
//: alternation takes the first
out(/a|ab/.exec('ab')[0], /(a)|(b)/.exec('b').slice(), /(?:a|b)+/.exec('abab')[0])
//: captures in repeats are the last
out(/(?:(a)|(b))*/.exec('ab').slice(), /(z)((a+)?(b+)?(c))*/.exec('zaacbbbcac').slice())
//: bad patterns are syntax errors
for (const p of ['(', '[', 'a**', '(?<n>a)(?<n>b)', '\\k<x>(?<y>)', '{1}', '(?<=']) { try { new RegExp(p, p === '{1}' ? 'u' : ''); out('taken') } catch (e) { out(e.name) } }
//: bad flags
for (const f of ['gg', 'x', 'uv']) { try { new RegExp('a', f); out('taken') } catch (e) { out(e.name) } }
//: RegExp of a RegExp
const r = /a/g; out(new RegExp(r, 'i').flags, RegExp(r) === r, new RegExp(r) === r, new RegExp('/').source, new RegExp('').source)
//: own exec and symbols
const r = /a/; r.exec = () => null; out(r.test('a'), 'x'.replace({ [Symbol.replace]: (s, w) => s + w }, 'y'), 'a,b'.split({ [Symbol.split]: (s) => [s] }))
//: escaping
out(/\//.source, /[/]/.test('/'), 'a.b*c'.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), /\./.test('x'), /\cJ/.test('\n'), /\x41\u0042/.test('AB'))
//: properties of matches
const m = 'xay'.match(/a/); out(m.input, m.index, Object.keys(m), m.groups === undefined)
//: set notation
out(/[\p{L}--[a-z]]/v.test('a'), /[\p{L}--[a-z]]/v.test('A'), /[[a-z]&&[aeiou]]/v.test('b'))
//: modifiers or not
try { out(new RegExp('(?i:a)b').test('Ab')) } catch (e) { out(e.name) }
