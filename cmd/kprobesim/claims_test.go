package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/paper"
	"kprobesim/results"
)

// remembering reads each file once.
func remembering(in paper.Input) paper.Input {
	read, plan := in.Set, in.Plan
	sets, plans := map[string]*results.Set{}, map[string]*schema.Plan{}
	in.Set = func(name string) (s *results.Set, err error) {
		if sets[name] == nil {
			sets[name], err = read(name)
		}
		return sets[name], err
	}
	in.Plan = func(name string) (p *schema.Plan, err error) {
		if plans[name] == nil {
			plans[name], err = plan(name)
		}
		return plans[name], err
	}
	return in
}

// shaken has numbers of the results changed by chance, each metric of a role together and each number by itself, and
// the searches find what they please.
func shaken(in paper.Input, chance *rand.Rand) paper.Input {
	unshaken, together := in.Set, map[string]float64{}
	in.Set = func(name string) (*results.Set, error) {
		s, err := unshaken(name)
		if err != nil {
			return nil, err
		}
		out := &results.Set{}
		for r := range s.All() {
			group := r.Metric + string(r.Role)
			if together[group] == 0 {
				together[group] = math.Exp(3 * chance.NormFloat64())
			}
			v := min(1e6, together[group]*(r.Value.Float()+chance.ExpFloat64())*math.Exp(2*chance.NormFloat64()))
			if r.Value, err = results.ParseValue(strconv.FormatFloat(v, 'f', 6, 64)); err == nil {
				err = out.Add(r)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	in.Searches = found(
		paper.Search{Scenario: "optimize", Variant: "one", Schedules: 20, Violations: chance.Uint64N(2), Cells: chance.IntN(2), Stores: 8, Orders: chance.IntN(9)},
		paper.Search{Scenario: "optimize", Variant: "one", Mutant: "bp-skip-sync-1", Schedules: 7, Violations: chance.Uint64N(2)},
	)
	return in
}

// withTemplate makes a paper of another template.
func withTemplate(in paper.Input, text string) (map[string][]byte, error) {
	in.Template, in.Name = text, paper.TexName
	return paper.Make(in)
}

// claimsOnly is the template without what takes time: figures and tables.
func claimsOnly(t *testing.T) (template string, claims map[string]bool) {
	t.Helper()
	b := require.Must(os.ReadFile(filepath.Join("..", "..", "paper", paper.TexName)))(t)
	template = regexp.MustCompile(`<<(figure|published|setups|machines|races|users|watches|sources|artifact|sums)\b[^>]*>>`).ReplaceAllString(string(b), "")
	claims = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^<<claim .*?\) "((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*\.)"`).FindAllStringSubmatch(template, -1) {
		claims[strings.ReplaceAll(m[1], `\\`, `\`)] = false
	}
	if n := strings.Count(template, "<<claim "); n != len(claims) || n < 20 {
		t.Fatalf("%d claims, and %d sentences of them were found", n, len(claims))
	}
	return template, claims
}

// TestEveryClaimGuardsSomething shakes the results: each sentence that claims something becomes untrue under some of
// them, and all are true under the committed ones.
func TestEveryClaimGuardsSomething(t *testing.T) {
	alone(t)
	template, claims := claimsOnly(t)
	in := remembering(paperInput(t, nil))
	if _, err := withTemplate(in, template); err != nil {
		t.Fatalf("the committed results: %v", err)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		_, err := withTemplate(shaken(in, chance), template)
		for _, broken := range untrue(err) {
			for sentence := range claims {
				if pattern := regexp.QuoteMeta(strings.ReplaceAll(sentence, "%%", "%")); regexp.MustCompile(strings.ReplaceAll(pattern, "%s", ".*")).MatchString(broken) {
					claims[sentence] = true
				}
			}
		}
	}
	for sentence, noticed := range claims {
		require.That(t, noticed, "nothing makes this untrue: %q", sentence)
	}
}

// untrue parts an error of the paper into its sentences.
func untrue(err error) (all []string) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			all = append(all, strings.ReplaceAll(e.Error(), `\\`, `\`))
		}
	} else if err != nil {
		all = append(all, err.Error())
	}
	return all
}

// TestClaimsOfTheirOwnForm refuses claims that are written badly, with their line.
func TestClaimsOfTheirOwnForm(t *testing.T) {
	for claim, want := range map[string]string{
		`"It takes %s of %s cycles." schedules`:                        "paper.tex:2: \"It takes %s of %s cycles.\" has 2 places %s and is given 1 numbers",
		`"It takes cycles." schedules`:                                 "has 0 places %s and is given 1 numbers",
		`"It takes %d cycles." schedules`:                              "has 0 places %s and is given 1 numbers",
		`"It takes 5 % of all." `:                                      "a percent sign is %%",
		`"Within \\emph{no} limit: %s~\\%%." schedules`:                `paper.tex:2: "Within \\emph{no} limit: %s~\\%%." does not say the limit of its comparison, a tenth`,
		`"Within a tenth: %s." schedules`:                              "",
		`"Within a tenth: %s~\\%%, and %s." schedules (num schedules)`: "",
	} {
		_, err := withTemplate(paperInput(t, nil), "first\n<<claim (near schedules schedules \"a tenth\") "+claim+">>")
		require.That(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)), "%s: %v, want %s", claim, err, want)
	}
	require.Error(t, require.Err(withTemplate(paperInput(t, nil), `<<claim (near schedules schedules "about") "It is about %s." schedules>>`)), "a limit of \"about\": known are a fifth", "a limit that there is not")
	require.That(t, require.Err(withTemplate(paperInput(t, nil), `<<claim (all) "It holds.">>`)) != nil, "a claim without a comparison was taken")
}

// TestPaperOfYourOwn writes a paper of another template, and names it in errors.
func TestPaperOfYourOwn(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.tex")
	write := func(text string) []string {
		t.Helper()
		require.NoError(t, os.WriteFile(mine, []byte(text), 0o644))
		root := filepath.Join("..", "..")
		return []string{
			"paper", "--template", mine, "--out", filepath.Join(dir, "out"),
			"--results", filepath.Join(root, "results", "baselines"), "--artifact", filepath.Join(root, "paper", "artifact.json"),
		}
	}
	if code, _, said := command(nil, write("first\n<<claim (none (cycles \"overhead-xeon-e5410-x86_64\" \"k\")) \"There are none.\">>")...); code != exitRegression ||
		!strings.Contains(said, mine+`:2: no longer true: "There are none."`) {
		t.Errorf("exit code %d\n%s", code, said)
	}
	code, _, said := command(nil, write(`It takes <<num (cycles "overhead-xeon-e5410-x86_64" "k")>> cycles.`)...)
	b, err := os.ReadFile(filepath.Join(dir, "out", paper.TexName))
	require.That(t, code == exitOK && err == nil && regexp.MustCompile(`It takes \d+ cycles\.`).Match(b), "exit code %d, %v\n%s%s", code, err, b, said)
	if code, _, said := command(nil, "paper", "--template", filepath.Join(dir, "none"), "--artifact", filepath.Join("..", "..", "paper", "artifact.json")); code != exitUsage {
		t.Errorf("no template: exit code %d\n%s", code, said)
	}
}

// alone leaves a test that needs no goroutines out of make race, which is where -short is used.
func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short: nothing in it runs at the same time")
	}
}
