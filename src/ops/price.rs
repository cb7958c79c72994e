//! Tokens into money. The only file that knows the price crate.
//!
//! A price is that of the time of the answer, of its provider and tier, and of the size of its context. What the table
//! does not price is told as tokens without a price, never as nothing.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use chrono::{DateTime, Utc};
use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::{
    fact::Tokens,
    format::json::{hex, nano_dollars},
    session::ledger::Completion,
};

/// The table that is built in.
const BUNDLED: &str = "genai-prices 0.2.1";

/// The providers of clients that do not write down whom they paid.
const DEFAULTS: [(&str, &str); 1] = [("claude-code", "anthropic")];

/// A table of prices.
pub struct Prices {
    table: Table,
    version: String,
}

enum Table {
    Bundled(&'static Calculator),
    File(Box<Calculator>),
}

/// What one completion costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priced {
    /// Nano-dollars for the tokens that have a price; none where no token has one.
    pub nano: Option<u64>,
    /// How many tokens have none.
    pub unpriced: u64,
}

/// What tells two rates apart but for the size of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Deal<'a> {
    client: &'a str,
    provider: Option<&'a str>,
    model: &'a str,
    tier: Option<&'a str>,
    /// Days since 1970: prices change on a day.
    day: i64,
}

/// Where the table prices a deal, and which kinds of token it tells apart.
#[derive(Clone, Debug)]
struct Listed {
    provider: String,
    read: bool,
    write: bool,
    hour: bool,
    output: bool,
}

/// What a provider's documentation says that a kind of input costs, relative to other input.
#[derive(Clone, Copy, Default)]
struct Factors {
    read: Option<f64>,
    write: Option<f64>,
    hour: Option<f64>,
}

impl Factors {
    fn of(provider: &str) -> Self {
        match provider {
            "anthropic" => Self { read: Some(0.1), write: Some(1.25), hour: Some(2.0) },
            // What they put into their caches costs the same as other input.
            "openai" | "azure" | "deepseek" => Self { write: Some(1.0), ..Self::default() },
            _ => Self::default(),
        }
    }
}

impl Prices {
    /// The prices that were built in.
    #[must_use]
    pub fn bundled() -> Self {
        Self { table: Table::Bundled(Calculator::bundled()), version: BUNDLED.into() }
    }

    /// The prices of a file in the crate's own form. The error is what is wrong with it.
    pub fn of(json: &[u8]) -> Result<Self, String> {
        let table = Calculator::from_json(json).map_err(|error| error.to_string())?;
        let version = format!("sha256:{}", &hex(&Sha256::digest(json))[..16]);
        Ok(Self { table: Table::File(Box::new(table)), version })
    }

    /// The name of the table: the crate's version, or a hash of the file.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Prices every completion.
    pub fn apply(&self, completions: &mut [Completion]) {
        let mut deals: HashMap<Deal<'_>, Option<Listed>> = HashMap::new();
        for completion in completions.iter() {
            if let Some(deal) = deal(completion) {
                deals.entry(deal).or_insert_with(|| self.list(deal));
            }
        }
        let priced: Vec<Priced> = completions
            .par_iter()
            .map(|completion| {
                let deal = deal(completion);
                let listed = deal.and_then(|deal| deals.get(&deal)?.as_ref());
                self.price(completion, listed)
            })
            .collect();
        for (completion, priced) in completions.iter_mut().zip(priced) {
            (completion.cost_computed, completion.unpriced) = (priced.nano, priced.unpriced);
        }
    }

    fn calculator(&self) -> &Calculator {
        match &self.table {
            Table::Bundled(table) => table,
            Table::File(table) => table,
        }
    }

    fn price(&self, completion: &Completion, listed: Option<&Listed>) -> Priced {
        let tokens = &completion.tokens;
        let none = Priced { nano: None, unpriced: tokens.total() };
        let (Some(listed), Some(at), Some(model)) = (listed, completion.at, &completion.model)
        else {
            return none;
        };
        let ask = |usage: &Usage| self.ask(&listed.provider, model, tier(completion), at, usage);
        cost(tokens, listed, &ask).unwrap_or(none)
    }

    /// What `usage` costs, in dollars: input and output.
    fn ask(
        &self,
        provider: &str,
        model: &str,
        tier: Option<&str>,
        at: DateTime<Utc>,
        usage: &Usage,
    ) -> Option<(f64, f64)> {
        let mut request =
            PriceRequest::new(plain(model), usage).with_provider_id(provider).with_timestamp(at);
        if let Some(tier) = tier {
            request = request.with_price_context(context(tier), tier);
        }
        let price = self.calculator().calculate(&request).ok()?;
        Some((price.input_price, price.output_price))
    }

    /// Whether the table prices that model of that provider, and what of it.
    fn list(&self, deal: Deal<'_>) -> Option<Listed> {
        let default = DEFAULTS.iter().find(|(client, _)| *client == deal.client);
        let provider = match (deal.provider, default) {
            (Some(provider), _) => self.known(Some(provider), deal.model)?,
            (None, Some((_, usual))) => {
                self.known(Some(usual), deal.model).or_else(|| self.known(None, deal.model))?
            }
            (None, None) => self.known(None, deal.model)?,
        };
        let day = Duration::from_secs(u64::try_from(deal.day).ok()? * 86_400);
        let at = DateTime::<Utc>::from(SystemTime::UNIX_EPOCH + day);
        let ask = |tier: Option<&str>, usage: &[(UsageKey, f64)]| {
            let usage = usage.iter().cloned().collect();
            self.ask(&provider, deal.model, tier, at, &usage)
        };
        // More of a part than of the whole makes no sense, which the table only notices where it prices the part.
        let apart = |usage: &[(UsageKey, f64)]| ask(deal.tier, usage).is_none();
        let whole = [(UsageKey::INPUT_TOKENS, 1e6), (UsageKey::OUTPUT_TOKENS, 1e6)];
        let (input, output) = ask(deal.tier, &whole)?;
        // A tier that the table does not have would be priced as the usual one.
        if deal.tier.is_some() && ask(None, &whole) == Some((input, output)) {
            return None;
        }
        Some(Listed {
            read: apart(&[(UsageKey::INPUT_TOKENS, 0.0), (UsageKey::CACHE_READ_TOKENS, 1.0)]),
            write: apart(&[(UsageKey::INPUT_TOKENS, 0.0), (UsageKey::CACHE_WRITE_TOKENS, 1.0)]),
            hour: apart(&[
                (UsageKey::INPUT_TOKENS, 1.0),
                (UsageKey::CACHE_WRITE_TOKENS, 0.0),
                (UsageKey::CACHE_WRITE_1H_TOKENS, 1.0),
            ]),
            output: output > 0.0 || input == 0.0,
            provider,
        })
    }

    /// The table's provider of a model that it knows by this name, or by this name without its date. The table matches
    /// some names by how they begin or end; a name that is only near to one that it knows is another model's.
    fn known(&self, provider: Option<&str>, model: &str) -> Option<String> {
        let model = plain(model);
        let look = |name: &str| {
            let usage = Usage::new();
            let mut request = PriceRequest::new(name, &usage);
            if let Some(provider) = provider {
                request = request.with_provider_id(provider);
            }
            let found = self.calculator().calculate(&request).ok()?;
            Some((found.provider_id, found.model_id))
        };
        let found = look(model)?;
        let exact = |name: &str| {
            if name.eq_ignore_ascii_case(&found.1) {
                return true;
            }
            let mut shorter = name.chars();
            shorter.next_back();
            let mut later = name.chars();
            later.next();
            let other = |part: &str| part.is_empty() || look(part).as_ref() != Some(&found);
            look(name).as_ref() == Some(&found) && other(shorter.as_str()) && other(later.as_str())
        };
        (exact(model) || exact(undated(model))).then_some(found.0)
    }
}

fn deal(completion: &Completion) -> Option<Deal<'_>> {
    Some(Deal {
        client: completion.client,
        provider: completion.provider.as_deref(),
        model: completion.model.as_deref()?,
        tier: tier(completion),
        day: completion.at?.timestamp().div_euclid(86_400),
    })
}

fn tier(completion: &Completion) -> Option<&str> {
    completion.tier.as_deref()
}

/// What kind of tier it is in the words of the table.
fn context(tier: &str) -> &'static str {
    if tier == "batch" { "processing" } else { "service_tier" }
}

/// A model's name without what says how large its context may be.
fn plain(model: &str) -> &str {
    model.split_once('[').map_or(model, |(name, _)| name)
}

/// A model's name without the date of its release, or the word that stands for the newest one.
fn undated(model: &str) -> &str {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(name) = model.strip_suffix("-latest") {
        return name;
    }
    if let Some((name, date)) = model.rsplit_once(['-', '@'])
        && date.len() == 8
        && digits(date)
    {
        return name;
    }
    // `-2025-11-13`
    let at = model.len().checked_sub(11).filter(|at| model.is_char_boundary(*at));
    let Some((name, date)) = at.map(|at| model.split_at(at)) else { return model };
    let parts: Vec<&str> = date.split('-').collect();
    let shape = matches!(parts.as_slice(), ["", year, month, day]
        if year.len() == 4 && month.len() == 2 && day.len() == 2 && digits(year) && digits(month) && digits(day));
    if shape { name } else { model }
}

/// The table wants all input in one number, the parts that the cache served or kept within it; logs that give disjoint
/// counters and logs that do not were made alike when they were read.
fn cost(
    tokens: &Tokens,
    listed: &Listed,
    ask: &dyn Fn(&Usage) -> Option<(f64, f64)>,
) -> Option<Priced> {
    let Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, .. } = *tokens;
    let written = cache_write_5m.saturating_add(cache_write_1h);
    let whole = input.saturating_add(cache_read).saturating_add(written);
    let mut usage = Usage::from([(UsageKey::INPUT_TOKENS, float(whole))]);
    let mut unpriced = 0;
    if listed.output {
        usage.insert(UsageKey::OUTPUT_TOKENS, float(output));
    } else {
        unpriced += output;
    }
    if listed.read {
        usage.insert(UsageKey::CACHE_READ_TOKENS, float(cache_read));
    }
    if listed.write {
        usage.insert(UsageKey::CACHE_WRITE_TOKENS, float(written));
    }
    if listed.hour {
        usage.insert(UsageKey::CACHE_WRITE_1H_TOKENS, float(cache_write_1h));
    }
    let (in_price, out_price) = ask(&usage)?;
    let mut dollars = in_price + out_price;
    // What the table does not price apart it took for other input, in a context of the same size.
    let all = float(whole);
    let rate = |key: Option<UsageKey>| {
        let mut usage = Usage::from([(UsageKey::INPUT_TOKENS, all)]);
        if let Some(key) = key {
            usage.insert(key, all);
        }
        Some(ask(&usage)?.0 / all)
    };
    let factors = Factors::of(&listed.provider);
    let parts = [
        (listed.read, cache_read, factors.read),
        (listed.write, cache_write_5m, factors.write),
        (listed.hour || listed.write && factors.hour.is_none(), cache_write_1h, factors.hour),
    ];
    for (nth, (priced, count, factor)) in parts.into_iter().enumerate() {
        if priced || count == 0 {
            continue;
        }
        let plain = rate(None)?;
        let taken = if nth == 2 && listed.write {
            rate(Some(UsageKey::CACHE_WRITE_TOKENS))?
        } else {
            plain
        };
        dollars -= taken * float(count);
        match factor {
            Some(factor) => dollars += plain * factor * float(count),
            None => unpriced += count,
        }
    }
    let nano = (unpriced < tokens.total()).then(|| nano_dollars(dollars.max(0.0)))?;
    Some(Priced { nano, unpriced })
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^53 tokens")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::session::ledger::Maker;

    /// A completion of `client` with tokens as disjoint counters, on a day of 2026.
    fn completion(client: &'static str, model: &str, tokens: Tokens) -> Completion {
        Completion {
            maker: Arc::new(Maker { client, ..Maker::default() }),
            model: Some(model.into()),
            at: Some("2026-11-20T12:00:00Z".parse().expect("a time")),
            tokens,
            ..Completion::default()
        }
    }

    fn priced(completion: Completion) -> (Option<u64>, u64) {
        let mut one = [completion];
        Prices::bundled().apply(&mut one);
        (one[0].cost_computed, one[0].unpriced)
    }

    const MANY: Tokens = Tokens {
        input: 1_000,
        cache_read: 20_000,
        cache_write_5m: 400,
        cache_write_1h: 300,
        output: 500,
        reasoning: 100,
    };

    #[test]
    fn claude_counters_are_disjoint_and_writes_cost_by_their_retention() {
        // 5 $, read 0.5 $, written 6.25 $ and 10 $, output 25 $ a million; reasoning is inside the output.
        let nano = 1_000 * 5_000 + 20_000 * 500 + 400 * 6_250 + 300 * 10_000 + 500 * 25_000;
        assert_eq!(
            priced(completion("claude-code", "claude-opus-4-5-20251101", MANY)),
            (Some(nano), 0)
        );
    }

    #[test]
    fn codex_counters_have_lost_what_the_cache_served() {
        let tokens = Tokens { cache_write_5m: 0, cache_write_1h: 0, ..MANY };
        let nano = 1_000 * 1_250 + 20_000 * 125 + 500 * 10_000;
        for provider in [None, Some("openai".into())] {
            let one = Completion { provider, ..completion("codex", "gpt-5.1-codex", tokens) };
            assert_eq!(priced(one), (Some(nano), 0));
        }
    }

    #[test]
    fn pi_prime_and_dsh_name_their_provider() {
        let tokens = Tokens { cache_write_1h: 0, ..MANY };
        let nano = 1_000 * 1_000 + 20_000 * 100 + 400 * 1_250 + 500 * 5_000;
        for client in ["pi", "prime", "dsh"] {
            let one = completion(client, "claude-haiku-4-5", tokens);
            let one = Completion { provider: Some("anthropic".into()), ..one };
            assert_eq!(priced(one), (Some(nano), 0), "{client}");
        }
    }

    #[test]
    fn the_size_of_the_whole_context_chooses_the_rate() {
        let long = Tokens { cache_read: 199_000, ..MANY };
        let nano = 1_000 * 3_000 + 199_000 * 300 + 400 * 3_750 + 300 * 6_000 + 500 * 15_000;
        let at = |tokens| priced(completion("claude-code", "claude-sonnet-4-5", tokens)).0;
        assert_eq!(at(Tokens { cache_read: 198_300, ..MANY }), Some(nano - 700 * 300));
        // Two tokens over the threshold of 200,000, which counts what was read and written too.
        let over = 1_000 * 6_000 + 199_000 * 600 + 400 * 7_500 + 300 * 12_000 + 500 * 22_500;
        assert_eq!(at(long), Some(over));
    }

    #[test]
    fn a_price_is_that_of_the_day() {
        let on = |day: &str| {
            let one = completion(
                "dsh",
                "deepseek-v4-flash",
                Tokens { input: 1_000_000, ..Tokens::default() },
            );
            let at = Some(format!("{day}T12:00:00Z").parse().expect("a time"));
            priced(Completion { at, provider: Some("deepseek".into()), ..one }).0
        };
        assert_eq!(on("2026-08-16"), Some(140_000_000));
        assert_ne!(on("2026-08-18"), on("2026-08-16"));
    }

    #[test]
    fn what_has_no_price_is_told_and_never_nothing() {
        let unknown = |one: Completion| assert_eq!(priced(one), (None, MANY.total()));
        unknown(completion("codex", "gpt-5.1-codex-max-of-next-year", MANY));
        unknown(completion("claude-code", "claude-opus-4-55", MANY));
        unknown(Completion { model: None, ..completion("codex", "", MANY) });
        unknown(Completion { at: None, ..completion("claude-code", "claude-opus-4-5", MANY) });
        let of = |provider: &str, tier: Option<&str>| Completion {
            provider: Some(provider.into()),
            tier: tier.map(Into::into),
            ..completion("pi", "claude-opus-4-5", MANY)
        };
        unknown(of("a-gateway-of-our-own", None));
        // The table has no prices for that tier.
        unknown(of("anthropic", Some("fast")));
    }

    #[test]
    fn a_cache_without_a_price_costs_by_the_providers_own_factor_or_is_told() {
        let prices = Prices::of(
            br#"[{"id":"anthropic","name":"A","api_pattern":"x","models":[{"id":"m","match":{"equals":"m"},
            "prices":{"input_mtok":10,"output_mtok":20}}]},{"id":"other","name":"B","api_pattern":"y","models":[
            {"id":"m","match":{"equals":"m"},"prices":{"input_mtok":10,"output_mtok":20}}]}]"#,
        )
        .expect("a table");
        assert!(prices.version().starts_with("sha256:"));
        let of = |provider: &str| {
            let one = completion("pi", "m", MANY);
            let mut one = [Completion { provider: Some(provider.into()), ..one }];
            prices.apply(&mut one);
            (one[0].cost_computed, one[0].unpriced)
        };
        let nano = 1_000 * 10_000 + 20_000 * 1_000 + 400 * 12_500 + 300 * 20_000 + 500 * 20_000;
        assert_eq!(of("anthropic"), (Some(nano), 0));
        assert_eq!(of("other"), (Some(1_000 * 10_000 + 500 * 20_000), 20_700));
    }

    #[test]
    fn every_model_is_known_by_its_own_name() {
        let prices = Prices::bundled();
        for provider in ["anthropic", "openai", "google", "deepseek", "moonshotai"] {
            let info = prices.calculator().find_provider(Some(provider), None).expect("a provider");
            for model in
                info.expect("a provider").models().filter(|model| !model.id().starts_with("ft:"))
            {
                let found = prices.known(Some(provider), model.id());
                assert!(found.is_some(), "{provider} {}", model.id());
            }
        }
        for model in [
            "gpt-5.1-codex-max",
            "gpt-5.2",
            "gpt-5-codex",
            "gpt-5-2025-08-07",
            "claude-opus-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-20250514",
            "claude-3-5-haiku-latest",
            "kimi-k2",
            "gemini-3-pro-preview",
            "claude-sonnet-4-5@20250929",
        ] {
            assert!(prices.known(None, model).is_some(), "{model}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_crate() {
        let lock = include_str!("../../Cargo.lock");
        let (name, version) = BUNDLED.split_once(' ').expect("a name and a version");
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")));
    }
}
